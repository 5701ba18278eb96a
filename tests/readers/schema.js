// SPDX-License-Identifier: MIT
// schema.js SCHEMA FILE...: checks each file against a JSON schema; prints what is wrong.
'use strict';
const fs = require('fs');
const Ajv = require('ajv');

const validate = new Ajv({ allErrors: true }).compile(JSON.parse(fs.readFileSync(process.argv[2])));
for (const file of process.argv.slice(3)) {
	if (!validate(JSON.parse(fs.readFileSync(file)))) {
		console.log(file, JSON.stringify(validate.errors.slice(0, 5)));
		process.exitCode = 1;
	}
}
