/** One record of a topic partition, as the broker delivered it. */
export interface Message {
  readonly offset: bigint
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  /** Each header's values in order of arrival; a name may come more than once, and without a value. */
  readonly headers: Readonly<Record<string, readonly (Uint8Array | null)[]>>
}
