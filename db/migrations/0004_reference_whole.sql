-- Why: as long as this index exists, it refuses events with a long reference. A search by reference of the version before reads
-- the decisions without an index until its replicas are replaced.

DROP INDEX CONCURRENTLY IF EXISTS notifications.decision_reference;
