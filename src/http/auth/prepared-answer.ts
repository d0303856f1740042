import { Dispatcher, Dispatcher1Wrapper } from 'undici'

const HEADERS = { 'content-type': 'application/json' }

/** A dispatcher for Node's `fetch` that asks nobody: whatever the request, it is answered with this JSON. */
export function preparedAnswer(json: string): Dispatcher {
  // Node's fetch speaks an older version of undici's protocol than the package does; the wrapper translates.
  return new Dispatcher1Wrapper(new PreparedAnswer(Buffer.from(json)))
}

class PreparedAnswer extends Dispatcher {
  readonly #body: Buffer

  constructor(body: Buffer) {
    super()
    this.#body = body
  }

  override dispatch(_options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const exchange = new Exchange()
    queueMicrotask(() => {
      handler.onRequestStart?.(exchange, null)
      handler.onResponseStart?.(exchange, 200, HEADERS, 'OK')
      handler.onResponseData?.(exchange, this.#body)
      handler.onResponseEnd?.(exchange, {})
    })
    return true
  }
}

/** Nothing can be stopped: the answer is there as a whole. */
class Exchange implements Dispatcher.DispatchController {
  readonly aborted = false
  readonly paused = false
  readonly reason = null
  abort(): void {}
  pause(): void {}
  resume(): void {}
}
