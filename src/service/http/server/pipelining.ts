import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Maximum number of requests on a connection that wait for their answers. */
const UNANSWERED_COUNT_MAX = 16

const unanswered = new WeakMap<Socket, number>()

function isFull(socket: Socket): boolean {
  return (unanswered.get(socket) ?? 0) >= UNANSWERED_COUNT_MAX
}

/**
 * Node parses all requests of a chunk of 64 kB, some 2,400, before it answers one; only an upgrade ends that. So one request too
 * many poses as an upgrade, which nobody handles: Node closes the connection.
 */
class BoundedRequest extends IncomingMessage {
  constructor(socket: Socket) {
    super(socket)
    // Node assigns `false` after this.
    if (isFull(socket)) Object.defineProperty(this, 'upgrade', { get: () => true, set: () => {} })
  }
}

class CountedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
  constructor(...args: ConstructorParameters<typeof ServerResponse<Request>>) {
    super(...args)
    const [{ socket }] = args
    unanswered.set(socket, (unanswered.get(socket) ?? 0) + 1)
    this.once('finish', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1))
  }
}

/** Closes a connection with too many unanswered requests. */
export const BOUNDED_PIPELINE = {
  IncomingMessage: BoundedRequest,
  ServerResponse: CountedResponse,
  shouldUpgradeCallback: ({ socket }) => isFull(socket),
} satisfies ServerOptions<typeof BoundedRequest, typeof CountedResponse>
