-- The tables, in schema `_store`: as they are after the migration `initial_schema`; what came later is in optdb/best.py.
-- The views of views.sql are
-- the interface for users; these tables may change by a migration. Ids are computed in optdb/records.py. There are no
-- foreign keys: writers do not wait for each other, so a measurement may arrive before its schedule; optdb/check.py
-- finds what never came.

CREATE SCHEMA IF NOT EXISTS _store;

CREATE TYPE _store.outcome AS ENUM ('timed', 'stopped', 'build_failed', 'crashed', 'timed_out', 'wrong_result');
CREATE TYPE _store.measurement_kind AS ENUM ('search', 'confirm', 'transfer');
CREATE TYPE _store.origin AS ENUM ('file', 'generated');
CREATE TYPE _store.profile_source AS ENUM ('likwid', 'perf', 'simulated', 'recorded');

CREATE TABLE _store.machines (
    machine VARCHAR PRIMARY KEY,  -- profilers.machine.Machine.fingerprint
    cpu_model VARCHAR NOT NULL,
    vendor VARCHAR NOT NULL,
    architecture VARCHAR NOT NULL,
    flags VARCHAR[] NOT NULL,
    physical_cores INTEGER NOT NULL,
    logical_cores INTEGER NOT NULL,
    caches VARCHAR NOT NULL,  -- JSON
    memory_bytes BIGINT NOT NULL
);

CREATE TABLE _store.sources (
    source_id VARCHAR PRIMARY KEY,  -- SHA-256 of the text
    origin _store.origin NOT NULL,
    place VARCHAR NOT NULL,
    algorithm VARCHAR NOT NULL
);

CREATE TABLE _store.nests (
    nest_id VARCHAR PRIMARY KEY,
    normalized_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    c_text VARCHAR NOT NULL,
    features VARCHAR NOT NULL  -- JSON
);

-- Where a nest was found: the same nest may stand in several sources, under several names.
CREATE TABLE _store.occurrences (
    nest_id VARCHAR NOT NULL,
    source_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    function VARCHAR,
    PRIMARY KEY (nest_id, source_id, name)
);

CREATE TABLE _store.conditions (
    conditions_id VARCHAR PRIMARY KEY,
    machine VARCHAR NOT NULL,
    compiler VARCHAR NOT NULL,
    compiler_version VARCHAR NOT NULL,
    flags VARCHAR[] NOT NULL,
    threads INTEGER NOT NULL,
    sizes VARCHAR NOT NULL,  -- JSON
    element_type VARCHAR NOT NULL,
    reassociated BOOLEAN NOT NULL
);

CREATE TABLE _store.schedules (
    schedule_id VARCHAR PRIMARY KEY,
    nest_id VARCHAR NOT NULL,
    text VARCHAR NOT NULL
);

CREATE TABLE _store.runs (
    run_id VARCHAR PRIMARY KEY,
    seed BIGINT NOT NULL,
    search VARCHAR NOT NULL,
    budget_s DOUBLE NOT NULL,
    versions VARCHAR NOT NULL,  -- JSON
    command VARCHAR NOT NULL,
    started_at DOUBLE NOT NULL,  -- seconds since 1970
    ended_at DOUBLE
);

CREATE TABLE _store.measurements (
    measurement_id VARCHAR PRIMARY KEY,
    schedule_id VARCHAR NOT NULL,
    nest_id VARCHAR NOT NULL,
    conditions_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    kind _store.measurement_kind NOT NULL,
    seed BIGINT NOT NULL,
    repetition BIGINT NOT NULL,
    evaluation BIGINT NOT NULL,
    outcome _store.outcome NOT NULL,
    message VARCHAR NOT NULL,
    samples DOUBLE[] NOT NULL,  -- seconds
    baseline DOUBLE[] NOT NULL,  -- seconds
    speedup_low DOUBLE,
    speedup_high DOUBLE,
    verified BOOLEAN NOT NULL,
    verified_on VARCHAR[] NOT NULL,
    verify_seeds BIGINT[] NOT NULL,
    tolerance DOUBLE NOT NULL,
    noise DOUBLE,
    other_load DOUBLE,
    measured_at DOUBLE NOT NULL,
    donor_nest_id VARCHAR,
    donor_distance DOUBLE,
    min_s DOUBLE,  -- of samples; these three are derived when a row is stored
    median_s DOUBLE,
    baseline_min_s DOUBLE
);
CREATE INDEX measurements_of_nest ON _store.measurements (nest_id);

CREATE TABLE _store.profiles (
    profile_id VARCHAR PRIMARY KEY,
    nest_id VARCHAR NOT NULL,
    conditions_id VARCHAR NOT NULL,
    source _store.profile_source NOT NULL,
    document VARCHAR NOT NULL  -- JSON: profilers.profile.Profile
);

CREATE TABLE _store.embeddings (
    embedding_id VARCHAR PRIMARY KEY,
    nest_id VARCHAR NOT NULL,
    model_id VARCHAR NOT NULL,
    profile_id VARCHAR,  -- NULL: of the graph alone
    vector FLOAT[] NOT NULL
);

-- How far each spool file has been read; changes together with the rows that were read.
CREATE TABLE _store.spool_files (
    file VARCHAR PRIMARY KEY,
    byte_offset BIGINT NOT NULL,
    next_sequence BIGINT NOT NULL,
    closed BOOLEAN NOT NULL
);

CREATE TABLE _store.ingest_problems (
    file VARCHAR NOT NULL,
    line BIGINT NOT NULL,  -- sequence number expected there; the header is 0
    byte_offset BIGINT NOT NULL,
    reason VARCHAR NOT NULL,
    lost BIGINT NOT NULL,  -- records, as far as their numbers tell
    PRIMARY KEY (file, byte_offset, reason)
);

CREATE TABLE _store.settings (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
