/** The key by which a transport can recognise a message that it has had before. */
export function idempotencyKey(eventId: string, attempt: number): string {
  return `${eventId}/${attempt}`
}
