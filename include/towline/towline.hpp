#pragma once
// Everything for remote calls.

#include <towline/async.hpp>
#include <towline/object.hpp>
#include <towline/rma_object.hpp>
#include <towline/rma_vector.hpp>
#include <towline/stats.hpp>
#include <towline/team.hpp>
#include <towline/when.hpp>
#include <towline/world.hpp>
