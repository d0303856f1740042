import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/**
 * A worker thread for work that must not hold up dispatch. It runs one job at a time, starts with the first, and ends when it has
 * been idle for a while.
 */
export interface Thread<Job, Message> {
  isBusy(): boolean
  /**
   * Runs a job and yields the thread's messages about it. The thread continues when the next message is requested. Call `return` to
   * leave before the last message. `signal` stops the job at any point, and so does `maxMs`, which counts from its start.
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

/** Heap limit of the thread, unless Node was started with a limit. */
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

/** Posts the job, then null to request each next message. */
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
