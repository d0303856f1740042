/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`test/core/rules/outcomes.test.ts > TAP > the rule table decides every situation as it was accepted > outcomes (make rules-accept takes the new ones) 1`] = `
any other event type: 37
  party found, not opted out, prefers EMAIL, no email on file, no phone on file: SKIP (no email on file), rule "no-email"
  party found, not opted out, prefers EMAIL, no email on file, phone on file: SKIP (no email on file), rule "no-email"
  party found, not opted out, prefers EMAIL, email on file, no phone on file: SEND by EMAIL, rule "email"
  party found, not opted out, prefers EMAIL, email on file, phone on file: SEND by EMAIL, rule "email"
  party found, not opted out, prefers SMS, no email on file, no phone on file: SKIP (no phone on file), rule "no-phone"
  party found, not opted out, prefers SMS, no email on file, phone on file: SEND by SMS, rule "sms"
  party found, not opted out, prefers SMS, email on file, no phone on file: SKIP (no phone on file), rule "no-phone"
  party found, not opted out, prefers SMS, email on file, phone on file: SEND by SMS, rule "sms"
  party found, not opted out, prefers IN_APP, no email on file, no phone on file: SEND by IN_APP, rule "in-app"
  party found, not opted out, prefers IN_APP, no email on file, phone on file: SEND by IN_APP, rule "in-app"
  party found, not opted out, prefers IN_APP, email on file, no phone on file: SEND by IN_APP, rule "in-app"
  party found, not opted out, prefers IN_APP, email on file, phone on file: SEND by IN_APP, rule "in-app"
  party found, opted out, prefers EMAIL, no email on file, no phone on file: SKIP (event type opted out), rule "opted-out"
  party found, opted out, prefers EMAIL, no email on file, phone on file: SKIP (event type opted out), rule "opted-out"
  party found, opted out, prefers EMAIL, email on file, no phone on file: SKIP (event type opted out), rule "opted-out"
  party found, opted out, prefers EMAIL, email on file, phone on file: SKIP (event type opted out), rule "opted-out"
  party found, opted out, prefers SMS, no email on file, no phone on file: SKIP (event type opted out), rule "opted-out"
  party found, opted out, prefers SMS, no email on file, phone on file: SKIP (event type opted out), rule "opted-out"
  party found, opted out, prefers SMS, email on file, no phone on file: SKIP (event type opted out), rule "opted-out"
  party found, opted out, prefers SMS, email on file, phone on file: SKIP (event type opted out), rule "opted-out"
  party found, opted out, prefers IN_APP, no email on file, no phone on file: SKIP (event type opted out), rule "opted-out"
  party found, opted out, prefers IN_APP, no email on file, phone on file: SKIP (event type opted out), rule "opted-out"
  party found, opted out, prefers IN_APP, email on file, no phone on file: SKIP (event type opted out), rule "opted-out"
  party found, opted out, prefers IN_APP, email on file, phone on file: SKIP (event type opted out), rule "opted-out"
  party not found, not opted out, prefers EMAIL: SKIP (party not found), rule "party-not-found"
  party not found, not opted out, prefers SMS: SKIP (party not found), rule "party-not-found"
  party not found, not opted out, prefers IN_APP: SKIP (party not found), rule "party-not-found"
  party not found, opted out, prefers EMAIL: SKIP (party not found), rule "party-not-found"
  party not found, opted out, prefers SMS: SKIP (party not found), rule "party-not-found"
  party not found, opted out, prefers IN_APP: SKIP (party not found), rule "party-not-found"
  party unresolved, not opted out, prefers EMAIL: FAIL (contact could not be resolved), rule "unresolved"
  party unresolved, not opted out, prefers SMS: FAIL (contact could not be resolved), rule "unresolved"
  party unresolved, not opted out, prefers IN_APP: FAIL (contact could not be resolved), rule "unresolved"
  party unresolved, opted out, prefers EMAIL: FAIL (contact could not be resolved), rule "unresolved"
  party unresolved, opted out, prefers SMS: FAIL (contact could not be resolved), rule "unresolved"
  party unresolved, opted out, prefers IN_APP: FAIL (contact could not be resolved), rule "unresolved"
  party missing: SKIP (no party locator), rule "no-party"
37 in all
`
