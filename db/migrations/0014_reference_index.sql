-- Why: the index by the beginning of a reference finds whole ones too.

DROP INDEX CONCURRENTLY IF EXISTS notifications.decision_reference_prefix;
