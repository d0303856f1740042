import { storable } from '../text/sanitize.ts'

/** What became of handing a row to its sender; both null where the channel has no sender. */
export interface Delivery {
  readonly receipt: string | null
  readonly error: string | null
}

/** A sender's answer as it can be stored. */
export function deliveryOf(result: { receipt: string } | { error: string } | null): Delivery {
  if (result === null) return { receipt: null, error: null }
  if ('error' in result) return { receipt: null, error: storable(result.error) }
  return { receipt: storable(result.receipt), error: null }
}
