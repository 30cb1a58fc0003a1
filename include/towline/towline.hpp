#pragma once
// Everything for remote calls. Of the standard library travel numbers, std::string, all containers, pairs, tuples, optionals, variants,
// unique_ptr, bitset and chrono's durations; towline/archive_complex.hpp and archive_filesystem.hpp have the rest.

#include <towline/archive_bitset.hpp>
#include <towline/archive_chrono.hpp>
#include <towline/archive_map.hpp>
#include <towline/archive_pointer.hpp>
#include <towline/archive_sequence.hpp>
#include <towline/archive_unordered.hpp>
#include <towline/archive_variant.hpp>
#include <towline/async.hpp>
#include <towline/coroutine.hpp>
#include <towline/object.hpp>
#include <towline/rma_object.hpp>
#include <towline/rma_vector.hpp>
#include <towline/stats.hpp>
#include <towline/strided_view.hpp>
#include <towline/team.hpp>
#include <towline/when.hpp>
#include <towline/world.hpp>
