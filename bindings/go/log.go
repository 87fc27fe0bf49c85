package tutti

import (
	"runtime/cgo"

	"tutti/internal/raw"
)

// LogLevel is how much the library says; each level includes those before it.
type LogLevel uint32

// The levels of the log.
const (
	LogOff     = LogLevel(raw.TUTTI_LOG_OFF)
	LogError   = LogLevel(raw.TUTTI_LOG_ERROR)
	LogWarning = LogLevel(raw.TUTTI_LOG_WARNING) // it goes on, but somebody should look
	LogInfo    = LogLevel(raw.TUTTI_LOG_INFO)    // what happens once in a group's life
	LogDebug   = LogLevel(raw.TUTTI_LOG_DEBUG)
	LogTrace   = LogLevel(raw.TUTTI_LOG_TRACE)
)

// SetLogCallback sends the log to a function, one line at a time and in order, up to a level;
// without it the log goes to stderr, as much as the environment says. nil: to stderr again. It
// waits until the function before has heard what was said so far, so that one must not be waiting
// for this call.
func SetLogCallback(function func(level LogLevel, message string), level LogLevel) error {
	if function == nil {
		return attempt(func(e *raw.Tutti_error) int32 {
			return raw.Tutti_set_log_callback(nil, 0, nil, uint32(level), e)
		})
	}
	self := cgo.NewHandle(func(level uint32, message string) {
		function(LogLevel(level), message)
	})
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_set_log_callback(raw.LogLine, uintptr(self), raw.Release, uint32(level), e)
	})
	if err != nil {
		self.Delete()
	}
	return err
}

// DebugLevel is how much is checked and told, a value of the process; a group keeps the level of
// when it was made, which must be the same on all its ranks.
type DebugLevel uint32

// The debug levels. Under DebugDetail the ranks compare what they call before each collective.
const (
	DebugOff    = DebugLevel(raw.TUTTI_DEBUG_OFF)
	DebugInfo   = DebugLevel(raw.TUTTI_DEBUG_INFO)
	DebugDetail = DebugLevel(raw.TUTTI_DEBUG_DETAIL)
)

// SetDebugLevel sets the debug level of this process.
func SetDebugLevel(level DebugLevel) error {
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_set_debug_level(uint32(level), e)
	})
}

// SetDebugLevelFromEnv sets it to what TORCH_DISTRIBUTED_DEBUG says.
func SetDebugLevelFromEnv() error {
	return attempt(raw.Tutti_set_debug_level_from_env)
}

// GetDebugLevel is the debug level of this process.
func GetDebugLevel() DebugLevel { return DebugLevel(raw.Tutti_get_debug_level()) }

// Settings are all settings of the library, by name: each has "value", "source" ("default",
// "environment", "call", or "unknown" for a variable that begins with TUTTI_ and is none), and
// "default", "variable" or "nearest" where they apply. Nobody may change the environment meanwhile.
func Settings() (map[string]map[string]string, error) {
	object := new(raw.Tutti_object)
	err := attempt(func(e *raw.Tutti_error) int32 { return raw.Tutti_get_settings(object, e) })
	if err != nil {
		return nil, err
	}
	value, err := decode(*object)
	if err != nil {
		return nil, err
	}
	settings := map[string]map[string]string{}
	for name, facts := range value.(map[string]any) {
		settings[name] = map[string]string{}
		for key, text := range facts.(map[string]any) {
			settings[name][key] = text.(string)
		}
	}
	return settings, nil
}
