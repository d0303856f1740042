/** Interval between passes of the background retry; fixed by the specification. */
export const RETRY_INTERVAL_MS = 60_000
export const RETRIED_EVERY = `failed rows are retried every ${RETRY_INTERVAL_MS / 1_000} seconds`
/**
 * A pass retries a row this long after its last attempt. Less than the interval, so that a pass that starts early misses no row;
 * far longer than the gap between the passes of two replicas.
 */
export const RETRY_MIN_PAUSE_MS = RETRY_INTERVAL_MS - 5_000
