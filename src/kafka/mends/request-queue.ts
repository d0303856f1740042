import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'

const lookLater = RequestQueue.prototype.scheduleCheckPendingRequests

/**
 * Mends what kafkajs 2.2.4 does on each connection from its first answer on: it looks once a millisecond, for ever,
 * whether requests wait (https://github.com/tulios/kafkajs/issues/1704), 4 % of a core with nothing to do. One that has
 * to wait starts a look of its own, so there is no need of one while none does.
 */
export function mendRequestQueue(): void {
  RequestQueue.prototype.scheduleCheckPendingRequests = function schedule(): void {
    if (this.pending.length > 0) lookLater.call(this)
  }
}
