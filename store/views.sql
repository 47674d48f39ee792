-- The public views: plain SQL over the tables, made anew whenever a migration has run. Times are milliseconds unless a
-- suffix says otherwise; NULL is "does not exist". Those that begin with an underscore only serve the others.

-- The cells of each sweep's last run, in the plan's order.
CREATE VIEW cell AS
SELECT c.sweep, c.cell, c.alias_of, c.factor, c.level, c.baseline, c.reference, c.moved, c.at, c.digest, c.target,
       c.contract, c.server
FROM raw_sweep AS s JOIN raw_cell AS c ON c.plan = s.plan
ORDER BY c.id;

CREATE VIEW point AS
SELECT c.sweep, c.cell, p.key AS factor, c.at -> ('$."' || p.key || '"') AS level
FROM raw_sweep AS s JOIN raw_cell AS c ON c.plan = s.plan JOIN json_each(c.at) AS p
ORDER BY c.id, p.id;

-- What a trial goes by. Where the current plan has its digest: the first name there, and that cell's bars. Otherwise
-- the name that it was recorded with and the bars of the plan it was run for. The twin keeps its own name.
CREATE VIEW _judged AS
SELECT t.trial, t.sweep, CASE t.copy WHEN 2 THEN t.cell ELSE coalesce(c.cell, t.cell) END AS cell, t.block, t.copy,
       t.attempt, c.load <> 'closed' AS from_due, c.has_slo, c.slo_ttft_ns, c.slo_tpot_ns, c.slo_e2e_ns
FROM raw_trial AS t
LEFT JOIN raw_cell AS c ON c.id = coalesce(
  (SELECT now.id FROM raw_sweep AS s JOIN raw_cell AS now ON now.plan = s.plan
   WHERE s.sweep = t.sweep AND now.digest = t.digest AND now.alias_of IS NULL),
  (SELECT old.id FROM raw_sitting AS s JOIN raw_cell AS old ON old.plan = s.plan
   WHERE s.sitting = t.sitting AND old.digest = t.digest AND old.alias_of IS NULL));

-- The attempts at trials as they count: one that was taken out of the tables has that for its status.
CREATE VIEW _attempt AS
SELECT t.trial, t.sweep, t.cell, t.digest, t.block, t.copy, t.attempt, t.sitting, t.order_index, t.launch, t.node, t.started_at, t.nonce, t.workload_hash,
       iif(x.excluded, 'excluded', t.status) AS status, iif(x.excluded, x.reason, t.reason) AS reason, t.t0_ns, t.t1_ns, t.end_ns, t.cache_method, t.served_model
FROM raw_trial AS t LEFT JOIN raw_exclusion AS x
  ON x.exclusion = (SELECT max(exclusion) FROM raw_exclusion AS last WHERE last.trial = t.trial);

CREATE VIEW trial AS
SELECT t.sweep, j.cell, t.block, t.copy, t.attempt, t.trial, t.digest, t.sitting, t.status, d.verdict,
       coalesce(d.flags, '[]') AS flags, t.started_at, t.node, t.order_index, t.launch, t.workload_hash, d.due, d.sent,
       d.ok, d.failed, d.offered_rate, d.achieved_rate, d.inflight_mean, d.inflight_max, d.window_s, d.cached_share,
       t.cache_method, t.served_model
FROM _attempt AS t JOIN _judged AS j ON j.trial = t.trial LEFT JOIN derived_trial AS d ON d.trial = t.trial;

CREATE VIEW request AS
SELECT j.sweep, j.cell, j.block, j.attempt, r.trial, r.phase, r.seq, r.request_id,
       r.due_ns / 1e6 AS due_ms, r.sent_ns / 1e6 AS sent_ms, r.written_ns / 1e6 AS written_ms,
       r.queue_ns / 1e6 AS queue_ms, r.dial_ns / 1e6 AS dial_ms, r.conn_new, r.ttfb_ns / 1e6 AS ttfb_ms,
       r.first_token_ns / 1e6 AS ttft_ms, (r.sent_ns - r.due_ns + r.first_token_ns) / 1e6 AS ttft_due_ms,
       r.answer_ns / 1e6 AS answer_ms,
       CASE WHEN r.output_tokens >= 2
            THEN CAST(r.last_token_ns - r.first_token_ns AS REAL) / (r.output_tokens - 1) / 1e6 END AS tpot_ms,
       r.last_token_ns / 1e6 AS e2e_ms, (r.sent_ns - r.due_ns + r.last_token_ns) / 1e6 AS e2e_due_ms,
       r.end_ns / 1e6 AS end_ms, r.server_queue_ns / 1e6 AS server_queue_ms, r.input_asked, r.input_tokens,
       r.input_source, r.output_asked, r.output_tokens, r.output_source, r.first_tokens, r.cached_tokens,
       r.reasoning_tokens, r.chunks, r.status, r.error, r.error_message, r.http_status,
       r.retry_after_ns / 1e9 AS retry_after_s, r.finish_reason, r.response_model,
       CASE
         WHEN r.phase <> 'measure' OR j.has_slo IS NOT 1 THEN NULL
         WHEN r.status <> 'ok' THEN 0
         ELSE (j.slo_ttft_ns IS NULL
               OR coalesce(iif(j.from_due, r.sent_ns - r.due_ns, 0) + r.first_token_ns <= j.slo_ttft_ns, 0))
          AND (j.slo_e2e_ns IS NULL
               OR coalesce(iif(j.from_due, r.sent_ns - r.due_ns, 0) + r.last_token_ns <= j.slo_e2e_ns, 0))
          AND (j.slo_tpot_ns IS NULL
               OR coalesce(r.output_tokens < 2
                           OR r.last_token_ns - r.first_token_ns <= j.slo_tpot_ns * (r.output_tokens - 1), 0))
       END AS met,
       r.marks
FROM _judged AS j JOIN raw_request AS r ON r.trial = j.trial;

CREATE VIEW latency AS
SELECT sweep, cell, block, phase, metric, n, error_share, mean, sd, min, p50, p90, p95, p99, max, blocks, left_out,
       verdict, flags
FROM derived_latency;

CREATE VIEW settling AS
SELECT s.sweep, s.cell, s.block, t.copy, t.attempt, s.trial, s.n, s.warmup_n, s.cut_n, s.found_ms, s.warmup_ms, s.settled,
       s.ttft_ms, s.ttft_cut_ms
FROM derived_settling AS s JOIN raw_trial AS t ON t.trial = s.trial;

CREATE VIEW goodput AS
SELECT sweep, cell, block, due, ok, failed, met, attainment, window_s, request_rate, input_rate, output_rate,
       goodput_req_s, goodput_tok_s, goodput_tok_s_gpu, blocks, left_out, moved, verdict, flags
FROM derived_goodput;

CREATE VIEW variance AS
SELECT sweep, cell, metric, blocks, estimate, estimator, sd, cv, ci_low, ci_high, ci_method, moved, verdict, flags
FROM derived_variance;

CREATE VIEW comparison AS
SELECT sweep, cell, reference, factor, metric, blocks, ratio, ci_low, ci_high, p, p_holm, margin, test, outcome, moved,
       flags
FROM derived_comparison;

CREATE VIEW launch AS
SELECT sweep, launch, ordinal, target, node, nullif(command, '[]') AS command, started_at, port_ns / 1e6 AS port_ms,
       ready_ns / 1e6 AS ready_ms, first_token_ns / 1e6 AS first_token_ms, stopped_at, exit_code, observed, log
FROM raw_launch;

CREATE VIEW answer AS
SELECT j.sweep, j.cell, j.block, j.attempt, a.trial, a.seq, a.text
FROM _judged AS j JOIN raw_answer AS a ON a.trial = j.trial;

CREATE VIEW capacity AS
SELECT sweep, search, cell, block, rate, attainment, ci_low, ci_high, probes, verdict, flags FROM derived_capacity;

CREATE VIEW quality AS
SELECT sweep, cell, dataset, metric, n, score, ci_low, ci_high, reference, margin, outcome FROM derived_quality;

CREATE VIEW flag AS
SELECT sweep, cell, block, code, severity, detail FROM derived_flag;

CREATE VIEW observation AS
SELECT trial, at_ns / 1e6 AS at_ms, source, key, json_extract(value, '$') AS value FROM raw_observation;

CREATE VIEW sample AS
SELECT trial, at_ns / 1e6 AS at_ms, source, metric, value FROM raw_sample;

-- The provenance of each sweep's last sitting.
CREATE VIEW provenance AS
SELECT s.sweep, p.key, p.value
FROM (SELECT sweep, max(sitting) AS sitting FROM raw_sitting GROUP BY sweep) AS s
JOIN raw_provenance AS p ON p.sitting = s.sitting;

CREATE VIEW sitting AS
SELECT sweep, sitting, started_at, argv, version, revision, host, fresh FROM raw_sitting;

CREATE VIEW exclusion AS
SELECT j.sweep, j.cell, j.block, j.attempt, x.trial, x.excluded, x.reason, x.at
FROM raw_exclusion AS x JOIN _judged AS j ON j.trial = x.trial
ORDER BY x.exclusion;
