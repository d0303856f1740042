/** kafkajs treats these as final, yet they mean a broker that went away or did not answer in time. */
const PASSING_ERRORS = ['KafkaJSGroupCoordinatorNotFound', 'KafkaJSTimeout', 'KafkaJSLockTimeout']

/** Whether an error of kafkajs, or what caused it, passes by itself although kafkajs says that it does not. */
export function isPassing(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (PASSING_ERRORS.includes(cause.name)) return true
  }
  return false
}
