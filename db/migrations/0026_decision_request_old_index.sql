-- Why: the index by request and locator finds the entries of a request, too.

DROP INDEX CONCURRENTLY IF EXISTS notifications.decision_request;
