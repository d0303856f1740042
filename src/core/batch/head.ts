/** The oldest message of a partition that is fetched and not processed. */
export interface Head {
  readonly offset: bigint
  readonly timestampMs: bigint
}
