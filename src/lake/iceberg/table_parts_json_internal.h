#pragma once

#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "lake/base/result.h"
#include "lake/iceberg/encryption_key.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/statistics_file.h"

// The JSON forms of the parts of table metadata, on parsed JSON. Readers return kInvalidArgument
// and name the member.
namespace lake::iceberg {

// Partition and sort fields name one source column in "source-id" or several in "source-ids".
Result<std::vector<FieldId>> ReadSourceIds(const boost::json::object& object);
void WriteSourceIds(boost::json::object& object, const std::vector<FieldId>& ids);

// Reads the list `name` of `parent`; see ParsePartitionFields about missing ids.
Result<std::vector<PartitionField>> ReadPartitionFields(const boost::json::object& parent,
                                                        std::string_view name);
Result<PartitionSpec> ReadPartitionSpec(const boost::json::object& object);
boost::json::array WritePartitionFieldArray(const std::vector<PartitionField>& fields);
boost::json::object WritePartitionSpecObject(const PartitionSpec& spec);

// The codecs of the other parts. Reading returns kInvalidArgument, naming the member that is missing
// or wrong. A snapshot before v2 is written without its sequence number.
Result<SortOrder> ReadSortOrder(const boost::json::object& object);
boost::json::object WriteSortOrderObject(const SortOrder& order);
Result<Snapshot> ReadSnapshot(const boost::json::object& object);
boost::json::object WriteSnapshotObject(const Snapshot& snapshot, int format_version);
Result<SnapshotRef> ReadSnapshotRef(const boost::json::object& object);
boost::json::object WriteSnapshotRefObject(const SnapshotRef& ref);
Result<StatisticsFile> ReadStatisticsFile(const boost::json::object& object);
boost::json::object WriteStatisticsFileObject(const StatisticsFile& file);
Result<PartitionStatisticsFile> ReadPartitionStatisticsFile(const boost::json::object& object);
boost::json::object WritePartitionStatisticsFileObject(const PartitionStatisticsFile& file);
Result<EncryptionKey> ReadEncryptionKey(const boost::json::object& object);
boost::json::object WriteEncryptionKeyObject(const EncryptionKey& key);

}  // namespace lake::iceberg
