// The facts of captures, in capture_facts.cpp; driver_facts.cpp runs them.
#pragma once

void capture_forbids_queries_by_its_mode();
void captured_streams_and_events_tell_nothing();
void event_of_a_capture_is_of_no_use_after_it();
void failed_capture_takes_nothing();
void captures_do_not_merge();
void capture_spreads_by_events();
void capture_takes_no_event_from_outside();
void default_stream_stays_away_from_a_capture();
void capture_begins_and_ends_once();
