-- Why: finds the entries of a request. Few decisions have one.

CREATE INDEX CONCURRENTLY decision_request ON notifications.decision (request_id) WHERE request_id IS NOT NULL;
