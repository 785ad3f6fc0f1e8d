// The architectures of models, each in a folder of its own.
#pragma once

#include <memory>
#include <string>

#include "model/model.h"

namespace nmt {

// Opens a model of any architecture. Throws Error for a file that is not a model.
std::unique_ptr<Model> open_model(const std::string& path);

}  // namespace nmt
