-- Why: the index by reference and locator finds the beginnings of references, too.

DROP INDEX CONCURRENTLY IF EXISTS notifications.decision_reference_beginning;
