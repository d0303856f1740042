-- Why: lists the entries of a request in order, so that a page reads only its own. See 0023.

CREATE INDEX CONCURRENTLY decision_request_locator ON notifications.decision (request_id, locator) WHERE request_id IS NOT NULL;
