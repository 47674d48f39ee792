package sweep

import (
	"iter"
	"time"
)

// Key identifies a trial within its sweep. Copy is 1; 2 is the A/A twin; 3 and up are baselines that only pair the
// cells which joined the block in a later sitting.
type Key struct {
	Digest string
	Block  int
	Copy   int
}

// TrialRecord is what the runner knows of one attempt at a trial. Times with NS count from the trial's start on the
// monotonic clock; StartedAt is its one wall-clock anchor.
type TrialRecord struct {
	ID    int64 // given by the store
	Sweep string
	// Cell is the measurement's first name; the A/A twin's is "baseline#2".
	Cell string
	Key
	Attempt    int // counts from 1 for one key, given by the store
	Sitting    int64
	OrderIndex int // position in the sweep's order of trials, from 1
	Launch     int64
	Node       string
	StartedAt  time.Time
	// Nonce seeds the text of every prompt, in hex.
	Nonce        string
	WorkloadHash string
	Status       string
	// Reason says in one sentence why a trial failed or is blocked.
	Reason string
	// The measured window [T0, T1) and the end of the trial; None where it never came to that.
	T0NS, T1NS, EndNS int64
	// CacheMethod is how the prefix cache's state was made: salt, reset, restart, or empty where it is off.
	CacheMethod string
	ServedModel string
}

// Launch is one life of a server, or one attachment to a server that was already up (Attached).
type Launch struct {
	ID      int64 // given by the store
	Sweep   string
	Sitting int64
	Ordinal int // counts from 1 in its sweep
	Target  string
	Node    string
	// Setting is the launch's identity: cells with the same one can share a launch.
	Setting   string
	Command   []string
	Attached  bool
	StartedAt time.Time
	// From the start of the process: until its port accepted, until it answered a completion, and until the first
	// token of that; None where attached.
	PortNS, ReadyNS, FirstTokenNS int64
	StoppedAt                     time.Time // zero while it runs
	ExitCode                      int64     // or None
	// Observed is what the server said of itself, by key: see the Obs constants.
	Observed map[string]any
	// Log is the tail of its output.
	Log string
}

// Keys of what is observed. Those of ObservedLeaves count for one variable at a time; the others explain.
const (
	ObsEngineVersion = "engine_version"
	ObsServedModel   = "served_model"
	ObsModelRoot     = "model_root"
	ObsGPUNames      = "gpu_names"
	ObsGPUs          = "gpus"
	ObsDriver        = "driver"
	ObsCUDA          = "cuda"
	ObsPowerLimit    = "power_limit"
	ObsHost          = "host"
	ObsImage         = "image"

	ObsModelAliases   = "model_aliases"   // every id in the server's own model list
	ObsMaxModelLen    = "max_model_len"   // tokens
	ObsBlockSize      = "block_size"      // tokens in one block of the prefix cache
	ObsRefusedFields  = "refused_fields"  // body fields that the server refused and that are not sent
	ObsTokensPerWord  = "tokens_per_word" // of text prompts
	ObsRoundTripNS    = "round_trip_ns"
	ObsClientCPUShare = "client_cpu_share" // of GOMAXPROCS · wall, over the window
	ObsGCCycles       = "gc_cycles"        // collections in the window
	ObsGCPauseNS      = "gc_pause_ns"      // their pauses, summed
	ObsSchedP99NS     = "sched_p99_ns"     // the Go scheduler's latency in the window
	ObsDrained        = "drained"          // measured requests that ran on after the tail's load had ended
	ObsTailCut        = "tail_cut"         // tail requests that were cut
	ObsSteadyAt       = "steady_at_ns"     // end of a warm-up that ran until latencies settled
	ObsFloorNS        = "null_floor_ns"    // the client's TTFT against a server that answers at once
	ObsProcessStart   = "process_start_s"  // when the server's process began by its own clock: Unix seconds
	ObsBusyAtStart    = "busy_at_start"    // requests that ran on the server before the trial
	ObsRestarted      = "restarted"        // true where the server came up anew while the trial ran
)

// For how long the clocks of the server's GPUs were held back, as their driver counts it: microseconds, summed over the GPUs,
// since the driver was loaded; observed before a trial's load and after it. ObsSlowedBy is what holds them back at that moment
// among the reasons that the driver does not count: its own names, with commas, or "nothing".
const (
	ObsPowerCappedUS = "gpu_power_capped_us" // the power limit
	ObsSWThermalUS   = "gpu_sw_thermal_us"   // heat, by the driver
	ObsHWThermalUS   = "gpu_hw_thermal_us"   // heat, by the card itself
	ObsPowerBrakeUS  = "gpu_power_brake_us"  // the machine's power supply
	ObsSlowedBy      = "gpu_slowed_by"
)

// ObservedLeaves are the observed keys that count as leaves, as "observed.KEY".
var ObservedLeaves = []string{
	ObsEngineVersion, ObsServedModel, ObsModelRoot, ObsGPUNames, ObsGPUs, ObsDriver, ObsCUDA, ObsPowerLimit, ObsHost, ObsImage,
}

// Observation is one fact beside the requests; Source is client, server or target.
type Observation struct {
	Trial  int64
	AtNS   int64
	Source string
	Key    string
	Value  any // string, float64, int64 or bool
}

// Sample is one reading of a metric that changes over time.
type Sample struct {
	Trial  int64
	AtNS   int64
	Source string
	Metric string
	Value  float64
}

// TrialFacts is all that the derived rows of one trial are made from. Rows may be ranged over more than once; it yields
// an error, once and last, where reading fails.
type TrialFacts struct {
	Record       TrialRecord
	Observations []Observation
	Launch       *Launch // nil where there was none
	Rows         iter.Seq2[*Request, error]
}
