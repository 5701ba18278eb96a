// SPDX-License-Identifier: MIT
// A server for what `ebprof push` sends: refuses what OpenTelemetry's readers, Pyroscope and Parca refuse, and misbehaves
// as it is told.
//
//	receiver.cjs BEHAVIOUR,... [PORT [CERTIFICATE KEY]]
//
// One behaviour a request, the last for all that follow: ok; a status; STATUS/N with Retry-After N; hang; close (at once);
// half (of an answer); old (as a Pyroscope that has /ingest alone); drip (an answer, a byte each 300 ms); redirect; reject
// (OpenTelemetry's partial success); grpc/N.
// With a certificate it has HTTP/2, for who wants it. Prints a JSON object a line: first the port, then what each request was.
'use strict';
const fs = require('fs');
const http = require('http');
const http2 = require('http2');
const path = require('path');
const zlib = require('zlib');
const protobuf = require(path.join(process.env.NODE_MODULES, 'protobufjs'));

const { root } = protobuf.parse(fs.readFileSync(path.join(__dirname, 'push.proto'), 'utf8'), { keepCase: true });
const of = name => root.lookupType('otlp.' + name);

class Refused extends Error {}

function must(condition, why) {
	if (!condition)
		throw new Refused(why);
}

function decode(name, bytes) {
	const type = of(name);
	try {
		return type.toObject(type.decode(bytes), { longs: String, defaults: true });
	} catch (e) {
		throw new Refused(`${name}: ${e.message}`);
	}
}

function at(table, index, what) {
	must(index >= 0 && index < table.length, `index ${index} out of bounds of ${what}`);
	return table[index];
}

// {stack: value}, the root first.
function add(stacks, frames, value) {
	const stack = frames.reverse().join(';');
	stacks[stack] = (stacks[stack] || 0) + Number(value);
}

// --- OpenTelemetry, as version 1.10 of its proto, and Pyroscope's conversion of it, have it. ---

function checkDictionary(d) {
	must(d && d.string_table.length, 'no dictionary');
	must(d.string_table[0] === '', 'the first string is not empty');
	for (const table of ['mapping', 'location', 'function', 'link', 'attribute', 'stack']) {
		const first = d[table + '_table'][0];
		must(first !== undefined, `${table}_table has no zero value`);
		for (const value of Object.values(first))
			must(!value || value === '0' || value.length === 0, `element 0 of ${table}_table is no zero value`);
	}
	for (const table of Object.values(d))
		must(new Set(table.map(e => JSON.stringify(e))).size === table.length, 'a thing is there twice');
}

function attribute(d, index) {
	const a = at(d.attribute_table, index, 'attributes'), v = a.value || {};
	const key = at(d.string_table, a.key_strindex, 'strings');
	must(key, 'an attribute without a key');
	return [key, v.string_value !== undefined && v.value !== 'int_value' ? v.string_value : Number(v.int_value)];
}

function otlpFrames(d, index) {
	const frames = [];
	for (const l of at(d.stack_table, index, 'stacks').location_indices) {
		const location = at(d.location_table, l, 'locations');
		at(d.mapping_table, location.mapping_index, 'mappings');
		for (const a of location.attribute_indices)
			must(attribute(d, a)[0] === 'profile.frame.type', 'an unknown attribute of a location');
		must(location.lines.length, 'a location without a name');
		for (const line of location.lines) {
			const f = at(d.function_table, line.function_index, 'functions');
			frames.push(at(d.string_table, f.name_strindex, 'names'));
		}
	}
	must(frames.length, 'a sample without frames');
	return frames;
}

function otlpProfile(d, p) {
	const type = t => [at(d.string_table, t.type_strindex, 'strings'), at(d.string_table, t.unit_strindex, 'strings')];
	must(p.sample_type, 'sample type is missing');
	// By that it has none Pyroscope knows time off the CPU.
	if (type(p.sample_type).join('/') === 'off_cpu/nanoseconds')
		must(!p.period_type && !Number(p.period), 'a period of off_cpu');
	else
		must(p.period_type && type(p.period_type).every(Boolean) && Number(p.period), 'no period');
	must(Number(p.time_unix_nano) && Number(p.duration_nano), 'no time');
	must(p.profile_id.length === 16, 'no id');
	const stacks = {}, threads = {};
	let total = 0;
	for (const s of p.samples) {
		must(s.values.length === 1, `${s.values.length} values`);
		const attributes = Object.fromEntries(s.attribute_indices.map(i => attribute(d, i)));
		must(attributes['thread.name'] && attributes['process.pid'] > 0, 'whose sample it is');
		threads[attributes['thread.name']] = true;
		add(stacks, otlpFrames(d, s.stack_index), s.values[0]);
		total += Number(s.values[0]);
	}
	const period = p.period_type ? [...type(p.period_type), Number(p.period)] : null;
	return { type: type(p.sample_type).join('/'), period, total, stacks,
		threads: Object.keys(threads), start: p.time_unix_nano, duration: p.duration_nano };
}

function otlp(body) {
	const request = decode('ExportProfilesServiceRequest', body), d = request.dictionary, series = [];
	checkDictionary(d);
	for (const r of request.resource_profiles) {
		const labels = Object.fromEntries(r.resource.attributes.map(a => [a.key, a.value.string_value]));
		must(labels['service.name'], 'unknown_service');
		for (const scope of r.scope_profiles) {
			must(scope.scope.name === 'ebprof', 'no scope');
			for (const p of scope.profiles)
				series.push({ labels, ...otlpProfile(d, p) });
		}
	}
	return series;
}

// --- Pyroscope and Parca: labels as Prometheus has them, and pprof's profiles. ---

function checkLabels(pairs) {
	const labels = {};
	for (const { name, value } of pairs) {
		must(/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name), 'invalid label name: ' + name);
		must(!(name in labels), 'duplicate label name: ' + name);
		must(name.length <= 1024 && value.length <= 2048, 'a label that is too long');
		labels[name] = value;
	}
	must(pairs.length <= 30, 'too many labels');
	must(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(labels.__name__ || ''), 'missing __name__ label');
	return labels;
}

function checkIds(list, what) {
	list.forEach((e, i) => must(Number(e.id) === i + 1, `${what} id is not sequential`));
}

function isPacked(raw) {
	return raw[0] === 0x1f && raw[1] === 0x8b;
}

function pprof(raw) {
	const p = decode('Pprof', isPacked(raw) ? zlib.gunzipSync(raw) : raw);
	const text = i => at(p.string_table, Number(i), 'strings');
	must(p.string_table[0] === '', 'the first string is not empty');
	checkIds(p.mapping, 'mapping');
	checkIds(p.location, 'location');
	checkIds(p.function, 'function');
	must(p.sample_type.length, 'no sample type');
	for (const t of p.sample_type)
		must(!text(t.type).includes('-'), 'sample type contains -');
	must(p.period_type && Number(p.period) && Number(p.time_nanos) && Number(p.duration_nanos), 'no period or time');
	const stacks = {}, types = p.sample_type.map(t => `${text(t.type)}/${text(t.unit)}`), totals = types.map(() => 0);
	let total = 0;
	for (const s of p.sample) {
		must(s.value.length === p.sample_type.length, 'values and types');
		must(s.location_id.length, 'a sample without locations');
		for (const l of s.label)
			must(text(l.key), 'a label without a key');
		const frames = [];
		for (const id of s.location_id)
			for (const line of at(p.location, Number(id) - 1, 'locations').line)
				frames.push(text(at(p.function, Number(line.function_id) - 1, 'functions').name));
		add(stacks, frames, s.value[0]);
		s.value.forEach((v, i) => totals[i] += Number(v));
		total += Number(s.value[0]);
	}
	return { type: types[0], types, totals, total, stacks, start: p.time_nanos,
		duration: p.duration_nanos, period: [text(p.period_type.type), text(p.period_type.unit), Number(p.period)] };
}

function pyroscope(body) {
	return decode('PushRequest', body).series.map(s => {
		const labels = checkLabels(s.labels);
		must(labels.service_name, 'service name is not provided');
		must(s.samples.length === 1, 'samples');
		const raw = Buffer.from(s.samples[0].raw_profile);
		return { labels, raw: raw.toString('base64'), ...pprof(raw) };
	});
}

// As the older API reads the name: SERVICE{LABEL=VALUE,...}.
function ingestName(text) {
	const m = /^([^{]*)\{(.*)\}$/s.exec(text), labels = {};
	must(m, 'no name');
	must(/^[a-zA-Z0-9_.\/-]+$/.test(m[1]), 'invalid service name: ' + m[1]);
	for (const pair of m[2] ? m[2].split(',') : []) {
		const [key, value, more] = pair.split('=');
		must(/^[a-zA-Z0-9_.]+$/.test(key) && key !== '__name__', 'invalid label name: ' + key);
		must(value && more === undefined && !/[{}]/.test(value), 'what ends a value: ' + pair);
		must(!(key in labels), 'duplicate label name: ' + key);
		labels[key] = value;
	}
	return { name: m[1], ...labels };
}

// Times of 19 digits are nanoseconds; other formats than pprof, or none, are other parsers'.
function ingest(body, query) {
	must(query.get('format') === 'pprof', 'not pprof');
	must(body.length, 'no profile');
	must(isPacked(body), 'not compressed');
	const labels = ingestName(query.get('name') || ''), profile = pprof(body), rate = query.get('sampleRate');
	const from = query.get('from') || '', until = query.get('until') || '';
	must(/^\d{19}$/.test(from) && /^\d{19}$/.test(until), 'times');
	must(from === profile.start && BigInt(until) - BigInt(from) === BigInt(profile.duration), 'times of another profile');
	must(rate === null || /^[1-9]\d*$/.test(rate), 'sample rate');
	return [{ labels, rate: Number(rate), ...profile }];
}

function parca(body) {
	must(body.length >= 5 && body[0] === 1 && body.readUInt32BE(1) === body.length - 5, 'no compressed frame of gRPC');
	return decode('WriteRawRequest', zlib.gunzipSync(body.subarray(5))).series.map(s => {
		must(s.samples.length === 1, 'samples');
		must(!isPacked(s.samples[0].raw_profile), 'compressed twice');
		return { labels: checkLabels(s.labels.labels), ...pprof(s.samples[0].raw_profile) };
	});
}

// --- The server. ---

const places = {
	'/v1development/profiles': { read: otlp, type: 'application/x-protobuf',
		ok: () => [{}, Buffer.alloc(0)], refuse: why => [400, {}, why] },
	'/push.v1.PusherService/Push': { read: pyroscope, type: 'application/proto',
		ok: () => [{}, Buffer.alloc(0)],
		refuse: why => [400, {}, JSON.stringify({ code: 'invalid_argument', message: why })] },
	'/ingest': { read: ingest, type: 'application/octet-stream',
		ok: () => [{}, Buffer.alloc(0)], refuse: why => [422, {}, why] },
	'/api/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw': { read: parca, type: 'application/grpc-web+proto',
		grpc: 'gzip',
		ok: () => [{}, Buffer.concat([Buffer.alloc(5), trailers('grpc-status: 0\r\n')])],
		refuse: why => [200, {}, trailers(`grpc-status: 3\r\ngrpc-message: ${why}\r\n`)] },
};

function trailers(text) {
	const head = Buffer.from([0x80, 0, 0, 0, 0]);
	head.writeUInt32BE(text.length, 1);
	return Buffer.concat([head, Buffer.from(text)]);
}

function answer(place, request, body) {
	try {
		must(request.headers['content-type'] === place.type, 'content type ' + request.headers['content-type']);
		must(request.headers['grpc-encoding'] === place.grpc, 'encoding of gRPC ' + request.headers['grpc-encoding']);
		if (request.headers['content-encoding'] === 'gzip')
			body = zlib.gunzipSync(body);
		return { series: place.read(body, new URL(request.url, 'http://host').searchParams) };
	} catch (e) {
		if (!(e instanceof Refused))
			throw e;
		return { refused: e.message };
	}
}

function behave(how, place, said, response) {
	const [word, n] = how.split('/');
	if (word === 'hang')
		return;
	if (word === 'close')
		return response.socket.destroy();
	if (word === 'half') {
		response.writeHead(200, { 'content-length': 100 });
		response.write('half');
		return setTimeout(() => response.socket.destroy(), 20);
	}
	if (word === 'drip') {
		response.writeHead(200, { 'content-length': 5 });
		for (let i = 0; i < 5; i++)
			setTimeout(() => i < 4 ? response.write(Buffer.alloc(1)) : response.end(Buffer.alloc(1)), 300 * i);
		return undefined;
	}
	if (word === 'redirect')
		return response.writeHead(302, { location: '/elsewhere' }).end();
	if (word === 'reject') {
		const type = of('ExportProfilesServiceResponse');
		const partial = { partial_success: { rejected_profiles: 1, error_message: 'not these' } };
		return response.end(type.encode(type.fromObject(partial)).finish());
	}
	if (word === 'grpc')
		return response.end(trailers(`grpc-status: ${n}\r\ngrpc-message: as told\r\n`));
	if (word !== 'ok' && word !== 'old')
		return response.writeHead(Number(word), n ? { 'retry-after': n } : {}).end('as told');
	if (said.refused) {
		const [status, headers, text] = place.refuse(said.refused);
		return response.writeHead(status, headers).end(text);
	}
	const [headers, bytes] = place.ok();
	return response.writeHead(200, headers).end(bytes);
}

const behaviours = process.argv[2].split(',');

function serve(request, response) {
	const parts = [];
	request.on('data', part => parts.push(part));
	request.on('end', () => {
		const how = behaviours.length > 1 ? behaviours.shift() : behaviours[0];
		const path = request.url.split('?')[0], place = how === 'old' && path !== '/ingest' ? undefined : places[path];
		const body = Buffer.concat(parts);
		const said = place ? answer(place, request, body) : { refused: 'no such path ' + path };
		console.log(JSON.stringify({ path, how, bytes: body.length, headers: request.headers,
			version: request.httpVersion, ...said }));
		if (place)
			behave(how, place, said, response);
		else
			response.writeHead(404).end();
	});
}

const [, , , port, certificate, key] = process.argv;
const secrets = certificate && { cert: fs.readFileSync(certificate), key: fs.readFileSync(key), allowHTTP1: true };
const server = certificate ? http2.createSecureServer(secrets, serve) : http.createServer(serve);
server.listen(Number(port || 0), '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
