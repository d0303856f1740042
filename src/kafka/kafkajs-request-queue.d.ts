declare module 'kafkajs/src/network/requestQueue/index.js' {
  /** Of one connection. Only what we mend of it. */
  export default class RequestQueue {
    /** Requests that wait to be sent: others are under way, or the broker throttles us. */
    readonly pending: readonly unknown[]
    /** Looks at them later, by a timer. */
    scheduleCheckPendingRequests(): void
  }
}
