'use strict'

const { native, parseRecord, stringify } = require('../builtins.js')
const { check, checkEach, expect } = require('../arguments.js')
const { errorOf } = require('../binding/errors.js')

function compileWorkflow(workflow) {
  checkWorkflow(workflow, 'workflow')
  const { error, dag, dagHash } = parseRecord(native.compileWorkflow(stringify(workflow)))
  if (error) throw errorOf(error)
  return { dag, dagHash }
}

/** Checks the types of a workflow. The addon's compiler checks that its nodes make a graph. */
function checkWorkflow(workflow, name) {
  check.object(workflow, name)
  check.string(workflow.name, `${name}.name`)
  check.string(workflow.version, `${name}.version`)
  expect(Array.isArray(workflow.nodes), `${name}.nodes`, 'an array', workflow.nodes)
  checkEach(workflow.nodes, `${name}.nodes`, checkNode)
}

function checkNode(node, name) {
  check.object(node, name)
  check.filledString(node.id, `${name}.id`)
  check.string(node.kind, `${name}.kind`)
  check.optional(node.tool, `${name}.tool`, 'string')
  for (const list of ['dependsOn', 'capabilities']) {
    if (node[list] !== undefined) check.filledStrings(node[list], `${name}.${list}`)
  }
}

module.exports = { compileWorkflow, checkWorkflow }
