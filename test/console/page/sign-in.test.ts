import type { Test } from 'tap'
import { readConsolePage } from '../../../src/console/routes/page.ts'
import { serve } from '../../../src/service/http/server/server.ts'
import { tokensOf } from '../../service/http/fixture.ts'
import { freePort } from '../../stack/free-port.ts'
import { PUBLIC_CLIENT, startIdentityProvider } from '../../stack/identity-provider.ts'
import { aManagement } from '../routes/fixture.ts'
import { sharedTab, test } from './browser.ts'

/** A console whose administrators sign in at a real provider, where Ada has the role and Bob has none. */
async function openConsole(t: Test) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/console`
  const idp = await startIdentityProvider({}, url)
  const { app } = aManagement({
    consolePage: readConsolePage(),
    tokens: { ...tokensOf(idp), adminClaim: 'roles' },
    signIn: { issuer: idp.issuer, clientId: PUBLIC_CLIENT.client_id, scope: 'openid' },
  })
  const http = serve(app, { host: '127.0.0.1', port })
  await http.listen()
  const { page, renew } = await sharedTab(new URL(url).origin)
  t.teardown(async () => {
    await page.context().clearCookies()
    await renew()
    await http.close()
    await idp.stop()
  })
  const signIn = async (name: string) => {
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('[name=login]').fill(name)
    await page.locator('[name=password]').fill('any')
    await page.locator('[type=submit]').click()
    await page.getByRole('button', { name: 'Continue' }).click()
  }
  return { page, idp, url, signIn }
}

test('an administrator signs in at the identity provider, comes back to the view, and signs out', async (t) => {
  const { page, url, signIn } = await openConsole(t)
  await page.goto(`${url}#/rules`)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.equal(await page.getByLabel('Token').count(), 0)
  await signIn('ada')
  await page.getByText('In force since').waitFor()
  t.equal(page.url(), `${url}#/rules`, 'the code stays nowhere')
  t.equal(await page.evaluate('localStorage.length'), 0, 'the token stays in the tab')
  await page.reload()
  await page.getByText('In force since').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.equal(await page.evaluate("sessionStorage.getItem('notifications-token')"), null)
})

test('an expired token leads back to signing in', async (t) => {
  const { page, idp, url, signIn } = await openConsole(t)
  await page.goto(`${url}#/rules`)
  await signIn('ada')
  await page.getByText('In force since').waitFor()
  const expired = await idp.forge({ exp: Math.floor(Date.now() / 1_000) - 60 })
  await page.evaluate(`sessionStorage.setItem('notifications-token', '${expired}')`)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.match(await page.getByRole('alert').first().innerText(), /expired/i)
})

test('a user without the right is told so, and may sign in as another', async (t) => {
  const { page, url, signIn } = await openConsole(t)
  await page.goto(`${url}#/rules`)
  await signIn('bob')
  await page.getByText('needs notifications:admin in its claim roles').waitFor()
  t.ok(await page.getByRole('button', { name: 'Sign in' }).isVisible())
})

test('a provider that does not answer, or refuses, is named, and an answer of another sign-in is not taken', async (t) => {
  const { page, idp, url } = await openConsole(t)
  await page.goto(`${url}#/rules`)
  idp.be('broken')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('The identity provider did not answer').waitFor()
  idp.be('up')
  const pending = JSON.stringify({ verifier: 'v'.repeat(43), state: 'mine', hash: '#/rules' })
  await page.evaluate(`sessionStorage.setItem('notifications-sign-in', '${pending}')`)
  let exchangeCount = 0
  await page.route('**/token', (route) => {
    exchangeCount++
    return route.continue()
  })
  await page.goto(`${url}?code=stolen&state=another&iss=${encodeURIComponent(idp.issuer)}`)
  await page.getByText('You are not signed in').waitFor()
  t.equal(exchangeCount, 0, 'the provider is not asked')
  t.equal(await page.evaluate("sessionStorage.getItem('notifications-token')"), null)
})
