package report

// What the columns mean, for a reader who sees one table alone. The same words stand under every table.
var (
	defAttainment = Entry{"attainment", "measured requests that met every bar of the SLO ÷ measured requests due; failed and unsent ones count as due"}
	defGoodput    = Entry{"goodput", "attainment × (requests due ÷ window): what met the SLO, per second; in tokens, the output tokens of those requests"}
	defRates      = Entry{"requests, output", "requests completed and output tokens received inside the window ÷ window, whether or not they met the SLO"}
	defRatesWhole = Entry{"requests", "all blocks together (sum ÷ sum), hence without an interval"}
	defTTFT       = Entry{"TTFT", "time to first token: from sending a request to its first output event (text, reasoning, tool call or token id)"}
	defTTFTDue    = Entry{"from due", "counted from when the request was due, so that waiting to be sent is part of it"}
	defTPOT       = Entry{"TPOT", "time per output token after the first: (last token − first token) ÷ (output tokens − 1), tokens as the server counted them"}
	defITL        = Entry{"ITL", "time between tokens, where the tokens of each chunk are known"}
	defGap        = Entry{"gap", "time between output chunks, which may hold several tokens"}
	defE2E        = Entry{"E2E", "from sending a request to its last token"}
	defPercentile = Entry{"p50, p95, p99", "percentiles by nearest rank over the successful measured requests of a block; shown is their mean over blocks (of logs)"}
	defBetween    = Entry{"±", "half of the 95 % interval between blocks (t on logs; attainment: on the values); [low, high] where its halves are unequal; none where all blocks agree or there is one"}
	defBlocks     = Entry{"blocks", "repeats that the figures rest on; a block without a valid trial is left out and named"}
	defDash       = Entry{dash, "does not exist; the reason is given below"}
	defVerdict    = Entry{"verdict", "valid; suspect: read with care; invalid: not a result, shown so that nobody looks for it"}
	defCount      = Entry{"n", "successful measured requests of all blocks; for gap and ITL, the times between their chunks or tokens"}
	defErrors     = Entry{"failed", "share of the due requests that failed; latencies are of the others"}
)
