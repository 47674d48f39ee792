package report

// What the columns mean, for a reader who sees one table alone. The same words stand under every table.
var (
	defAttainment = Entry{"attainment", "measured requests that met every bar of the SLO ÷ measured requests due; failed and unsent ones count as due"}
	defGoodput    = Entry{"goodput", "attainment × (requests due ÷ window): what met the SLO, per second; in tokens, the output tokens of those requests"}
	defRates      = Entry{"throughput", "requests completed and output tokens received inside the window ÷ window, whether or not they met the SLO"}
	defBoth       = Entry{"goodput, throughput", "goodput is of the requests due in the window, throughput of what was completed inside it: goodput can be the larger figure"}
	defDue        = Entry{"due, failed", "measured requests, of all blocks together"}
	// Where throughput in requests is not known by block.
	defDueAndRequests = Entry{"without ±", "requests due and failed, and throughput in requests, are of all blocks together"}
	defTTFT           = Entry{"TTFT", "time to first token: from sending a request to its first output event (text, reasoning, tool call or token id)"}
	defTTFTDue        = Entry{"from due", "counted from when the request was due, so that waiting to be sent is part of it"}
	defTPOT           = Entry{"TPOT", "time per output token after the first: (last token − first token) ÷ (output tokens − 1), tokens as the server counted them"}
	defITL            = Entry{"ITL", "time between tokens, where the tokens of each chunk are known"}
	defGap            = Entry{"gap", "time between output chunks, which may hold several tokens"}
	defE2E            = Entry{"E2E", "from sending a request to its last token"}
	defSettling       = Entry{groupSettling, "the length of the warm-up, from when its first request was due to the start of the window, and by when TTFT had settled, counted alike: lower medians, the one over all blocks, the other over those in which it was found. It informs and flags nothing"}
	defSettlingFound  = Entry{"settled", "found by MSER-5 (White 1997; White, Cobb and Spratt 2000): of all that ended ok in warm-up and window, in the order they were due, the first d are cut for which Σ(x − mean)² ÷ (n − d)² of the rest is least, x being means of 5 TTFTs (from due in an open loop) and d at most half. Where all of the warm-up and nothing of the window is cut, it is the warm-up's length"}
	defLate           = Entry{"late, none", "late 2/6: in 2 of 6 blocks it was found after the warm-up, so that the window has some of the settling; none 1/6: in 1 it was not found, the least being at the limit of the search. Where the window is off by more than you care for, make the warm-up longer, unless the cell is overloaded: there none is long enough"}
	defWindowOff      = Entry{"window off", "by how much the mean TTFT of the window differs from the mean without what is cut of it, in the block in which that is most; 0 where nothing of the window is cut"}
	defPercentile     = Entry{"p50, p95, p99", "percentiles by nearest rank over the successful measured requests of a block; shown is their mean over blocks (of logs)"}
	defBetween        = Entry{"±", "half of the 95 % interval between blocks (t on logs; attainment: on the values); [low, high] where its halves are unequal; ± 0 where all blocks agree"}
	defOfReference    = Entry{"(a)", "a letter in brackets is a flag of the cell that the row's is compared with, which the row's own does not carry"}
	defAlone          = Entry{alone, "one block only: no spread, hence no interval"}
	defBelowZero      = Entry{"below 0", "where a block has 0 the mean is arithmetic and its interval symmetric, so that it can reach below 0: the blocks differ too much to bound the figure"}
	defBlocks         = Entry{"blocks", "repeats that the figures rest on; a block without a valid trial is left out and named"}
	defDash           = Entry{dash, "does not exist; Missing says why"}
	defVerdict        = Entry{"verdict", "valid; suspect: read with care; invalid: not a result, shown so that nobody looks for it"}
	defCount          = Entry{"n", "successful measured requests of all blocks; for gap and ITL, the times between their chunks or tokens"}
	defErrors         = Entry{"failed", "share of the due requests that failed; latencies are of the others"}
)
