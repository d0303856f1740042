/** One record of a topic partition, as the broker delivered it. */
export interface Message {
  readonly offset: bigint
  /** When it was published, ms since 1970, by its producer's or the broker's clock; absent or -1 where that is not known. */
  readonly timestampMs?: bigint
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  /** Each header's values in order of arrival; a name may come more than once, and without a value. */
  readonly headers: Readonly<Record<string, readonly (Uint8Array | null)[]>>
}

/** In bytes: of a message that is rejected, key and headers are written, too. */
export function sizeOf({ key, value, headers }: Message): number {
  let size = (key?.length ?? 0) + (value?.length ?? 0)
  for (const name in headers) {
    for (const part of headers[name] ?? []) size += name.length + (part?.length ?? 0)
  }
  return size
}
