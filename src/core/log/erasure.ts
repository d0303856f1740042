/** The failure reason of a row that was erased before it could be sent: there is nothing left to send. */
export const ERASED_UNSENT = 'erased before it was sent'

/** What an erasure blanks, counted. */
export interface ErasureCounts {
  readonly logEntries: number
  /** Of these, the ones that were FAILED: they will not be retried. */
  readonly retries: number
  readonly preferences: number
  readonly preferenceChanges: number
  readonly rejectedMessages: number
}
