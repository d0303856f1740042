import type { ConsoleParts } from '../../service/app/listeners.ts'
import type { Config } from '../../service/config/config.ts'
import type { HttpApp } from '../../service/http/server/base.ts'
import { createConsoleData } from './console-data.ts'
import { type ConsoleData, dataRoutes } from './data-routes.ts'
import { type ConsolePage, consolePage, readConsolePage } from './page.ts'

/** The administrators' page and its data, for the management listener. */
export function openConsole(parts: ConsoleParts): (app: HttpApp) => void {
  const [page, data] = [readConsolePage(), createConsoleData(parts)]
  return (app) => addConsole(app, page, data, { ...parts, signIn: parts.config.signIn })
}

/** Only the data is personal, and so requires a token. */
export function addConsole(
  app: HttpApp,
  page: ConsolePage,
  data: ConsoleData,
  { tokens, isLoopback, signIn }: Pick<ConsoleParts, 'tokens' | 'isLoopback'> & Pick<Config, 'signIn'>,
): void {
  app.register(async (open: HttpApp) => consolePage(open, page, signIn))
  app.register(dataRoutes(data, tokens, isLoopback), { prefix: '/console/data' })
}
