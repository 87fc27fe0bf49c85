// Every collective that a group can make, as data. To add one: a file beside this one, a line here,
// and its lower(), without which a group does not take it.
#pragma once

#include "all_gather.hpp"
#include "all_gather_into_tensor.hpp"
#include "all_reduce.hpp"
#include "all_reduce_addends.hpp"
#include "all_to_all.hpp"
#include "all_to_all_single.hpp"
#include "alloc.hpp"
#include "barrier.hpp"
#include "broadcast.hpp"
#include "byte_strings.hpp"
#include "coalescing.hpp"
#include "gather.hpp"
#include "message.hpp"
#include "reduce.hpp"
#include "reduce_scatter.hpp"
#include "reduce_scatter_tensor.hpp"
#include "scatter.hpp"
