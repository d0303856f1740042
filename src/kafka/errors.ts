/** kafkajs treats these as final, yet they mean a broker that went away or did not answer in time. */
const PASSING_ERRORS = ['KafkaJSGroupCoordinatorNotFound', 'KafkaJSTimeout', 'KafkaJSLockTimeout']

/** Whether an error of kafkajs, or what caused it, passes by itself although kafkajs says that it does not. */
export function isPassing(error: unknown): boolean {
  return isCausedBy(error, ({ name }) => PASSING_ERRORS.includes(name))
}

/** Whether kafkajs could not make sense of what a broker sent: its decoder checks little, and fails in these ways. */
export function isUnreadable(error: unknown): boolean {
  return isCausedBy(
    error,
    ({ name, message }) => /^(Range|Type)Error$/.test(name) || /^Invalid (VarInt|Long), /.test(message),
  )
}

function isCausedBy(error: unknown, isIt: (cause: Error) => boolean): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (isIt(cause)) return true
  }
  return false
}
