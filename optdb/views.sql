-- The stable interface: these views and their columns stay when the tables change. Every view of times carries what a
-- time depends on (machine, cpu_model, isa, compiler, compiler_version, flags, threads, sizes, element_type,
-- reassociated): rows that differ in any of it must not be compared.

CREATE OR REPLACE VIEW machines AS
SELECT machine, cpu_model, vendor, concat_ws(' ', architecture, array_to_string(flags, ' ')) AS isa,
       physical_cores, logical_cores, caches, memory_bytes
FROM _store.machines;
COMMENT ON VIEW machines IS 'the machines measured on; machine is the fingerprint';

CREATE OR REPLACE VIEW conditions AS
SELECT c.conditions_id, c.machine, m.cpu_model, m.isa, c.compiler, c.compiler_version,
       array_to_string(c.flags, ' ') AS flags, c.threads, c.sizes, c.element_type, c.reassociated
FROM _store.conditions c LEFT JOIN machines m USING (machine);
COMMENT ON VIEW conditions IS 'everything a time depends on but nest and schedule';

CREATE OR REPLACE VIEW sources AS
SELECT source_id, origin, place, algorithm FROM _store.sources;
COMMENT ON VIEW sources IS 'C files and generated programs; algorithm is what must not be on both sides of an evaluation';

CREATE OR REPLACE VIEW runs AS
SELECT run_id, seed, search, budget_s, versions, command,
       make_timestamp((started_at * 1e6)::BIGINT) AS started, make_timestamp((ended_at * 1e6)::BIGINT) AS ended
FROM _store.runs;
COMMENT ON VIEW runs IS 'searches and tunings, times in UTC; ended is NULL for a run that goes on or was killed';

CREATE OR REPLACE VIEW nests AS
SELECT n.nest_id, n.name, o.functions, o.places, o.algorithms, n.normalized_id, n.features,
       coalesce(s.schedules, 0) AS schedules, coalesce(m.measurements, 0) AS measurements,
       coalesce(m.verified, 0) AS verified, n.text, n.c_text
FROM _store.nests n
LEFT JOIN (SELECT o.nest_id, list(DISTINCT o.function) AS functions, list(DISTINCT s.place) AS places,
                  list(DISTINCT s.algorithm) AS algorithms
           FROM _store.occurrences o LEFT JOIN _store.sources s USING (source_id) GROUP BY o.nest_id) o USING (nest_id)
LEFT JOIN (SELECT nest_id, count(*) AS schedules FROM _store.schedules GROUP BY nest_id) s USING (nest_id)
LEFT JOIN (SELECT nest_id, count(*) AS measurements, count(*) FILTER (verified) AS verified
           FROM _store.measurements GROUP BY nest_id) m USING (nest_id);
COMMENT ON VIEW nests IS 'every nest once, where it was found, and how often it was scheduled and measured';

CREATE OR REPLACE VIEW best_schedules AS
SELECT b.nest_id, n.name, b.speedup, b.min_s, b.median_s, b.baseline_min_s,
       s.text AS schedule, b.schedule_id, b.measured, o.origin.algorithm, o.origin.place,
       c.conditions_id, c.machine, c.cpu_model, c.isa, c.compiler, c.compiler_version, c.flags, c.threads, c.sizes,
       c.element_type, c.reassociated
FROM _store.best b
LEFT JOIN _store.schedules s ON s.schedule_id = b.schedule_id
LEFT JOIN _store.nests n ON n.nest_id = b.nest_id
LEFT JOIN (SELECT o.nest_id, min(struct_pack(algorithm, place)) AS origin
           FROM _store.occurrences o JOIN _store.sources s USING (source_id) GROUP BY o.nest_id) o ON o.nest_id = b.nest_id
LEFT JOIN conditions c ON c.conditions_id = b.conditions_id;
COMMENT ON VIEW best_schedules IS
    'per nest and conditions the fastest (by min_s, seconds) schedule whose output was verified; speedup is over the original measured next to it';

CREATE OR REPLACE VIEW speedups AS
SELECT m.nest_id, n.name, m.baseline_min_s / m.min_s AS speedup, m.speedup_low, m.speedup_high, m.min_s, m.median_s,
       m.baseline_min_s, m.verified, m.kind, s.text AS schedule, m.schedule_id, m.run_id, m.noise, m.other_load,
       c.conditions_id, c.machine, c.cpu_model, c.isa, c.compiler, c.compiler_version, c.flags, c.threads, c.sizes,
       c.element_type, c.reassociated
FROM _store.measurements m
LEFT JOIN _store.schedules s ON s.schedule_id = m.schedule_id
LEFT JOIN _store.nests n ON n.nest_id = m.nest_id
LEFT JOIN conditions c ON c.conditions_id = m.conditions_id
WHERE m.outcome = 'timed' AND m.baseline_min_s IS NOT NULL;
COMMENT ON VIEW speedups IS
    'every timed measurement with its original next to it; speedup_low and speedup_high only for interleaved confirmations';

CREATE OR REPLACE VIEW measurements AS
SELECT m.measurement_id, m.nest_id, n.name, m.kind, m.outcome, m.message, m.min_s, m.median_s, m.samples, m.baseline,
       m.verified, m.verified_on, m.verify_seeds, m.tolerance, m.noise, m.other_load, s.text AS schedule, m.schedule_id,
       m.run_id, m.seed, m.repetition, m.evaluation, make_timestamp((m.measured_at * 1e6)::BIGINT) AS measured,
       c.conditions_id, c.machine, c.cpu_model, c.isa, c.compiler, c.compiler_version, c.flags, c.threads, c.sizes,
       c.element_type, c.reassociated
FROM _store.measurements m
LEFT JOIN _store.schedules s ON s.schedule_id = m.schedule_id
LEFT JOIN _store.nests n ON n.nest_id = m.nest_id
LEFT JOIN conditions c ON c.conditions_id = m.conditions_id;
COMMENT ON VIEW measurements IS 'everything ever measured, failures included: outcome says what became of it';

CREATE OR REPLACE VIEW transfers AS
SELECT m.nest_id, n.name, m.donor_nest_id, d.name AS donor_name, m.donor_distance, m.outcome, m.verified,
       m.baseline_min_s / m.min_s AS speedup, m.min_s, m.message, s.text AS schedule, m.schedule_id, m.run_id,
       c.conditions_id, c.machine, c.cpu_model, c.isa, c.compiler, c.compiler_version, c.flags, c.threads, c.sizes,
       c.element_type, c.reassociated
FROM _store.measurements m
LEFT JOIN _store.schedules s ON s.schedule_id = m.schedule_id
LEFT JOIN _store.nests n ON n.nest_id = m.nest_id
LEFT JOIN _store.nests d ON d.nest_id = m.donor_nest_id
LEFT JOIN conditions c ON c.conditions_id = m.conditions_id
WHERE m.donor_nest_id IS NOT NULL;
COMMENT ON VIEW transfers IS 'what became of schedules taken from another nest (the donor)';

CREATE OR REPLACE VIEW profiles AS
SELECT p.nest_id, n.name, p.source, CAST(p.document ->> '$.runtime_s' AS DOUBLE) AS runtime_s,
       CAST(p.document -> '$.counts' AS MAP(VARCHAR, DOUBLE[])) AS counts,
       CAST(p.document -> '$.notes' AS VARCHAR[]) AS notes, p.profile_id,
       c.conditions_id, c.machine, c.cpu_model, c.isa, c.compiler, c.compiler_version, c.flags, c.threads, c.sizes,
       c.element_type, c.reassociated
FROM _store.profiles p
LEFT JOIN _store.nests n ON n.nest_id = p.nest_id
LEFT JOIN conditions c ON c.conditions_id = p.conditions_id;
COMMENT ON VIEW profiles IS 'what nests did to a machine; counts has one number a thread; source says who counted';

CREATE OR REPLACE VIEW search_progress AS
SELECT p.run_id, r.search, p.seed, p.nest_id, n.name, p.evaluation, p.outcome, p.verified, p.min_s, p.best_s,
       p.baseline_min_s / p.best_s AS best_speedup, p.schedule_id,
       c.conditions_id, c.machine, c.cpu_model, c.isa, c.compiler, c.compiler_version, c.flags, c.threads, c.sizes,
       c.element_type, c.reassociated
FROM (SELECT *, min(CASE WHEN outcome = 'timed' THEN min_s END)
                    OVER (PARTITION BY nest_id, run_id, conditions_id, seed ORDER BY evaluation, repetition) AS best_s
      FROM _store.measurements WHERE kind <> 'confirm') p
LEFT JOIN _store.runs r ON r.run_id = p.run_id
LEFT JOIN _store.nests n ON n.nest_id = p.nest_id
LEFT JOIN conditions c ON c.conditions_id = p.conditions_id;
COMMENT ON VIEW search_progress IS 'the best time so far, in the order in which a run measured its candidates; kept are only confirmed ones';

CREATE OR REPLACE VIEW ingest_problems AS
SELECT file, line, byte_offset, reason, lost FROM _store.ingest_problems;
COMMENT ON VIEW ingest_problems IS 'spool lines that could not be stored; lost counts records, as far as their numbers tell';
