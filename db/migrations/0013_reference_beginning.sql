-- Why: finds claims, policies and invoices by the beginning of their locators too, in the order of bytes, which no locale changes.
-- It finds whole ones as the index that it replaces does, and costs an event no more.

CREATE INDEX CONCURRENTLY decision_reference_beginning ON notifications.decision ((left(variables ->> 'locator', 255)) text_pattern_ops);
