/** One message for one address. The key, `eventId/n`, lets a transport recognise one that it has had before. */
export interface Message {
  readonly idempotencyKey: string
  readonly to: string
  readonly subject: string
  readonly body: string
}

/** The transport's receipt, or why the message did not go out; the error may not carry contact data. */
export type SendResult = { readonly receipt: string } | { readonly error: string }

export interface Sender {
  /** One result for each message, in the same order. Once `signal` aborts, nobody waits for them any more. */
  send(messages: readonly Message[], signal: AbortSignal): Promise<readonly SendResult[]>
}
