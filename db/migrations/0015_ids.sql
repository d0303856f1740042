-- Why: logical replication copies rows but no sequences: in a database that was moved, identity columns begin at 1 and collide with the
-- rows there. An id now begins with the time and goes on below 2^53 until 2094: the second since 2026, times 2^22, plus a number that
-- counts up to 2^22 and starts again. Two ids are equal only if that counter went round within a second. Ids stay ordered by time,
-- whatever the sequence remembers, and are above all that the sequences gave. The function runs as its owner, so that nobody needs a
-- right on the sequence.

CREATE SEQUENCE notifications.id_counter MINVALUE 0 MAXVALUE 4194303 CYCLE;
CREATE FUNCTION notifications.next_id() RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER
  RETURN (floor(extract(epoch FROM clock_timestamp()))::bigint - 1767225600) * 4194304 + nextval('notifications.id_counter');
