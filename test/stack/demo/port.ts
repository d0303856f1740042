import { once } from 'node:events'
import { createServer } from 'node:net'
import { freePort } from '../free-port.ts'

/** @throws where the port is taken, naming the remedy: to be called before anything is started */
export async function choosePort(host: string): Promise<number> {
  const port = Number(process.env.PORT || 4006)
  if (port === 0) return freePort()
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    throw new Error(
      `The service cannot listen on port ${process.env.PORT || port} (${(error as Error).message}). ` +
        'Choose another, for example by: make run PORT=4007',
    )
  }
  server.close()
  await once(server, 'close')
  return port
}
