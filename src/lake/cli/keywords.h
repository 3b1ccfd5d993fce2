#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lake/catalog/names.h"

namespace lake::cli {

// Returns the words of SQL that a prompt completes, in lower case.
const std::vector<std::string>& SqlKeywords();

// Returns a table's name as SQL has it: a nested namespace is one identifier, and whatever is no plain lower-case word is quoted.
std::string SqlTableName(const catalog::TableName& name);

// Returns what may stand for `word` at a prompt: keywords, in upper case if the word is, and tables.
std::vector<std::string> SqlCompletions(std::string_view word,
                                        const std::vector<catalog::TableName>& tables);

}  // namespace lake::cli
