// The end of the process.
#pragma once

namespace tutti::cuda {

// At exit the device finishes what it can, so that every order is looked at; and what the program
// has left is reported, if it is asked for.
void watch_exit();

}  // namespace tutti::cuda
