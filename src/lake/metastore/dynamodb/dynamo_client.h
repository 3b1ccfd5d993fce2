#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lake/base/time.h"
#include "lake/metastore/dynamodb/dynamo_protocol.h"

namespace lake::metastore {

// What sends requests to one DynamoDB table.
//
// Laws:
//   1. One call is at most one request on the wire. A client never sends anything again by itself:
//      whoever calls decides that, and knows then how often something may have arrived.
//   2. A call blocks until there is an answer or `deadline` has passed, and begins to send nothing
//      after it. Without an answer by then it is kNoAnswer; the request may still arrive later.
//   3. What is sent is a function of the request alone: equal requests are equal bytes, today and in
//      every later call.
//   4. Answers are told apart by the service's codes, never by the text of a message. A code that
//      the client does not know is DynamoError's kInternalServerError: it may have happened.
//
// Besides what stands with each call, any may answer kNoAnswer, kInternalServerError, kValidation,
// kResourceNotFound, kAccessDenied, kThrottling, kProvisionedThroughputExceeded and
// kRequestLimitExceeded. Thread-safe.
class DynamoClient {
 public:
  virtual ~DynamoClient() = default;

  // TransactWriteItems. kTransactionCanceled with a reason for each action, in order;
  // kTransactionInProgress; kIdempotentParameterMismatch.
  virtual DynamoAnswer<void> Transact(const TransactWriteItems& request, Deadline deadline) = 0;

  // GetItem: the value of an item, or nothing. kMalformedItem.
  virtual DynamoAnswer<std::optional<std::string>> GetItem(const DynamoKey& key, DynamoRead read,
                                                           Deadline deadline) = 0;

  // TransactGetItems: the values of 1 to 100 different items, in order, as of one instant.
  // kTransactionCanceled with a reason for each key, in order; kMalformedItem.
  virtual DynamoAnswer<std::vector<std::optional<std::string>>> TransactGetItems(
      const std::vector<DynamoKey>& keys, Deadline deadline) = 0;

  // Query: a page. kMalformedItem.
  virtual DynamoAnswer<DynamoPage> Query(const DynamoQuery& query, Deadline deadline) = 0;
};

}  // namespace lake::metastore
