export interface Message {
  readonly offset: bigint
  /** Publication time, ms since 1970, by the producer's or the broker's clock; absent or -1 if unknown. */
  readonly timestampMs?: bigint
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  /** Each header's values in order of arrival. A name may repeat, and may have no value. */
  readonly headers: Readonly<Record<string, readonly (Uint8Array | null)[]>>
}

/** Size in bytes. Includes key and headers, which are written for a rejected message. */
export function messageBytes({ key, value, headers }: Message): number {
  let byteCount = (key?.length ?? 0) + (value?.length ?? 0)
  for (const name in headers) {
    for (const part of headers[name] ?? []) byteCount += name.length + (part?.length ?? 0)
  }
  return byteCount
}
