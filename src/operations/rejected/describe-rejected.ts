import type { Settled, StoredRejectedMessage } from '../../service/decide/event/rejected-message.ts'
import { printable } from '../../service/text/sanitize.ts'

function describeSettled({ result, locator, error = '' }: Settled): string {
  if (result === 'rejected') return `still rejected: ${printable(error)}`
  if (result === 'duplicate') return 'already logged, no second row'
  return [result, locator].filter(Boolean).join('  ')
}

export function summarize(rejected: StoredRejectedMessage) {
  const { id, topic, partition, message, code, error, rejectedAt, erasedAt, redriven } = rejected
  const { offset, value } = message
  return {
    id: String(id),
    rejectedAt,
    topic,
    partition,
    offset: String(offset),
    byteCount: value?.length ?? null,
    code,
    error,
    erasedAt,
    redriven,
  }
}

export function formatRejected(rejected: StoredRejectedMessage): string {
  const { id, topic, partition, offset, byteCount, error, rejectedAt, erasedAt, redriven } =
    summarize(rejected)
  const state = redriven === null ? '' : `  (${settledAs(redriven)})`
  const size = erasedAt === null ? `${byteCount ?? 'no'} bytes` : 'erased'
  return `${id}  ${rejectedAt}  ${topic}/${partition}@${offset}  ${size}  ${printable(error)}${state}`
}

function settledAs({ at, result: { result } }: NonNullable<StoredRejectedMessage['redriven']>): string {
  return result === 'dismissed' ? `dismissed ${at}` : `redriven ${at}: ${result}`
}

export function showWhole(rejected: StoredRejectedMessage) {
  const { key, value, headers } = rejected.message
  return {
    ...summarize(rejected),
    key: encodeBytes(key),
    value: encodeBytes(value),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, values]) => [name, values.map(encodeBytes)]),
    ),
  }
}

function encodeBytes(bytes: Uint8Array | null) {
  if (bytes === null) return null
  const text = asText(bytes)
  return { base64: Buffer.from(bytes).toString('base64'), ...(text === null ? {} : { text }) }
}

export function formatWhole(rejected: StoredRejectedMessage): string {
  const { key, value, headers } = rejected.message
  const shown = Object.entries(headers).flatMap(([name, values]) =>
    values.map((value) => `header     ${printable(name)}: ${shownBytes(value)}`),
  )
  const { redriven } = rejected
  return [
    `id         ${rejected.id}`,
    `from       ${rejected.topic}/${rejected.partition}, offset ${rejected.message.offset}`,
    `rejected   ${rejected.rejectedAt}, ${rejected.code}: ${printable(rejected.error)}`,
    redriven === null ? 'redriven   never' : settledBy(redriven),
    ...(rejected.erasedAt === null ? [] : [`erased     ${rejected.erasedAt}`]),
    `key        ${shownBytes(key)}`,
    ...shown,
    `value      ${shownBytes(value)}`,
  ].join('\n')
}

function settledBy({ at, by, result }: NonNullable<StoredRejectedMessage['redriven']>): string {
  const when = `${at} by ${printable(by)}`
  return result.result === 'dismissed'
    ? `dismissed  ${when}: ${printable(result.error ?? '')}`
    : `redriven   ${when}: ${describeSettled(result)}`
}

function shownBytes(bytes: Uint8Array | null): string {
  if (bytes === null) return 'none'
  return asText(bytes) ?? `${bytes.length} bytes, base64: ${Buffer.from(bytes).toString('base64')}`
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes as text; null if they are not text, or a terminal would not print them unchanged. */
function asText(bytes: Uint8Array): string | null {
  try {
    const text = UTF8.decode(bytes)
    // Tabs and line breaks are harmless.
    const line = text.replace(/[\t\n\r]/g, '')
    return printable(line) === line ? text : null
  } catch {
    return null
  }
}
