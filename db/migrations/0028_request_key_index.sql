-- Why: see 0023. By author, since the answer to a repeated request tells what was asked for.
CREATE UNIQUE INDEX CONCURRENTLY request_idempotency_key ON notifications.request (requested_by, idempotency_key);
