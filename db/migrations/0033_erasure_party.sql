-- Why: a retry on request asks for each of its rows whether its party was erased, and read all erasures for each.

CREATE INDEX CONCURRENTLY erasure_party ON notifications.erasure (party_locator);
