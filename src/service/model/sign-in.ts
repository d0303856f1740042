/** How administrators sign in: a public client of the identity provider. */
export interface SignIn {
  readonly issuer: string
  readonly clientId: string
  /** To ask for, separated by spaces. */
  readonly scope: string
}
