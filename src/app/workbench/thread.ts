import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/**
 * Work that must not hold up dispatch, in a worker thread of its own. One job at a time has it, the others wait; it starts
 * with the first and ends when none has come for a while.
 */
export interface Thread<Job, Message> {
  /** From the first message that is asked for on. */
  isBusy(): boolean
  /**
   * Hands over a job and passes on what the thread says of it, up to and including the last message. The thread goes on
   * after each message when the next one is asked for. Whoever leaves before the last calls `return`. It ends, whatever it is at,
   * with `signal`, or `maxMs` after it was handed over: neither the start of the thread nor the wait for a turn counts.
   */
  run(job: Job, signal: AbortSignal): AsyncGenerator<Message>
  close(): Promise<void>
}

interface ThreadOptions<Message> {
  readonly workerData: unknown
  readonly idleMs: number
  readonly maxMs: number
  readonly isLast: (message: Message) => boolean
}

/** Where Node's own limit, which takes precedence, was not set at the start. */
const HEAP_MB = 64

/** The thread of the module `entry`, which posts null once it listens. */
export function createThread<Job, Message>(
  entry: URL,
  { workerData, idleMs, maxMs, isLast }: ThreadOptions<Message>,
): Thread<Job, Message> {
  let worker: Worker | null = null
  let idle: NodeJS.Timeout | undefined
  let jobCount = 0
  let turn: Promise<void> = Promise.resolve()
  const closing = new AbortController()

  async function start(signal: AbortSignal): Promise<Worker> {
    const started = new Worker(entry, { workerData, resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } })
    // An error that nobody listens for would end the process.
    started.on('error', () => {})
    started.once('exit', () => {
      if (worker === started) worker = null
    })
    worker = started
    await once(started, 'message', { signal })
    return started
  }

  async function end(): Promise<void> {
    clearTimeout(idle)
    const ended = worker
    worker = null
    await ended?.terminate()
  }

  async function* handOver(job: Job, signal: AbortSignal): AsyncGenerator<Message> {
    clearTimeout(idle)
    const running = worker ?? (await start(signal))
    yield* converse(running, job, isLast, AbortSignal.any([signal, AbortSignal.timeout(maxMs)]))
  }

  async function* run(job: Job, signal: AbortSignal): AsyncGenerator<Message> {
    jobCount++
    const before = turn
    const done = Promise.withResolvers<void>()
    turn = done.promise
    let isUnderWay = false
    try {
      await before
      signal.throwIfAborted()
      isUnderWay = true
      for await (const message of handOver(job, AbortSignal.any([signal, closing.signal]))) {
        isUnderWay = !isLast(message)
        yield message
      }
    } finally {
      // A job that was left in the middle is work that nobody wants.
      if (isUnderWay || idleMs === 0) await end()
      else idle = setTimeout(end, idleMs).unref()
      jobCount--
      done.resolve()
    }
  }

  return {
    isBusy: () => jobCount > 0,
    run,
    // A caller that abandoned its generator never ends the job.
    close: async () => {
      closing.abort()
      await end()
    },
  }
}

/** Says the job, then null each time the next message is asked for, up to and including the last one. */
async function* converse<Job, Message>(
  worker: Worker,
  job: Job,
  isLast: (message: Message) => boolean,
  signal: AbortSignal,
): AsyncGenerator<Message> {
  for (let said: Job | null = job; ; said = null) {
    const heard = once(worker, 'message', { signal })
    worker.postMessage(said)
    const [message] = (await heard) as [Message]
    yield message
    if (isLast(message)) return
  }
}
