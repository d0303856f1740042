/** Interval between passes of the background retry; fixed by the specification. */
export const RETRY_INTERVAL_MS = 60_000
/**
 * A pass retries a row this long after its last attempt. Less than the interval, so that a pass that starts early misses no row;
 * far longer than the gap between the passes of two replicas.
 */
export const RETRY_MIN_PAUSE_MS = 55_000
