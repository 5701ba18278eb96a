#!/bin/perl
# SPDX-License-Identifier: MIT

$| = 1;

sub spin {
    my $n = shift;
    my $i = 0;
    $i++ while $i < $n;
}

package App::Thing;
sub twice { main::spin(400) }
sub once { main::spin(200) }
sub order { main::spin(200); 0 }
sub sorts { my @x = sort order 2, 1 }

package main;
sub main {
    while (1) {
        App::Thing->twice();
        App::Thing::once();
        App::Thing->sorts();
    }
}

print "ready it\n";
open my $go, '<', 'go';
<$go>;
main();
